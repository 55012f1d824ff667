terraform {
  required_version = ">= 1.5"
}

# The network. All of it.
resource "aws_vpc" "this" {
  cidr_block = var.cidr

  lifecycle {
    create_before_destroy = true
  }

  dynamic "tag" {
    for_each = var.tags
    content {
      key = tag.key
    }
  }
}

variable "cidr" {
  description = "The range of addresses. Must be \"private\"."
  type        = string
}

variable "notes" {
  description = <<-EOT
    What to say.
    And more.
  EOT
}

locals {
  // The name to use.
  name = "x-${var.env}"
  tags = {
    a = 1
  }
}

module "vpc" {
  source = "./vpc"
}

data "aws_ami" "ubuntu" {}

output "id" {
  value = aws_vpc.this.id
}
