import React from "react";

type Props = { title: string };

/** A card with a title. */
export const Card: React.FC<Props> = ({ title }) => {
  const handle = () => {};
  return <div onClick={handle}>{title}</div>;
};

export default function Page() {
  return <Card title="a < b" />;
}
